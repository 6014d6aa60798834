"""Forward mode: dual numbers, and the rules that push tangents through operations."""
