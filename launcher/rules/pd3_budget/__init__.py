"""Family PD3: Budget and host memory."""
