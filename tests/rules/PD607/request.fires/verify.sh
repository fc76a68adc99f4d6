# pd-test: severity=warning line=2
curl http://localhost:8088/v1/chat/completions -H "Content-Type: application/json" -d '{"model": "m"}'
