ASCEND_RT_VISIBLE_DEVICES=0 vllm serve /models/vl --port 23001 \
  --ec-transfer-config '{"ec_connector": "ECExampleConnector", "ec_role": "ec_producer", "ec_connector_extra_config": {"shared_storage_path": "/ec"}}' &
ASCEND_RT_VISIBLE_DEVICES=1 vllm serve /models/vl --port 33003 \
  --ec-transfer-config '{"ec_connector": "ECExampleConnector", "ec_role": "ec_consumer", "ec_connector_extra_config": {"shared_storage_path": "/ec"}}' &
python3 disagg_epd_proxy.py --prefill-servers-urls disable --decode-servers-urls http://localhost:33003 --encode-servers-urls http://localhost:23001
