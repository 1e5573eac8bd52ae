"""The micro models: their corpus, their tokenizer, their training script."""
