"""What a deployment is: types and pure arithmetic. No I/O, no vLLM; imports none of our other packages."""
