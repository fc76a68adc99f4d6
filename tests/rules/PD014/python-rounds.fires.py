# pd-test: severity=error line=4
import subprocess

for port in range(8000, 8100):
    subprocess.Popen(["vllm", "serve", "/models/m", "--port", str(port)])
