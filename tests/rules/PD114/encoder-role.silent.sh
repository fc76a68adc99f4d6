# pd-test: target=vllm==0.32.0
vllm serve /models/m --ec-transfer-config '{"ec_connector": "ECExampleConnector", "ec_role": "ec_producer"}'
