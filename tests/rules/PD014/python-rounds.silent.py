import subprocess
import time

subprocess.Popen(["vllm", "serve", "/models/m", "--port", "8000"])
for _ in range(600):
    subprocess.run(["curl", "-s", "localhost:8000/health"])
    time.sleep(1)
