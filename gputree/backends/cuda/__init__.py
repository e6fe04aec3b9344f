"""The backend for NVIDIA GPUs."""
