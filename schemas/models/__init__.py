"""What is known of a model, by its configuration or its name."""
