"""The stages of scripts/gpu_check.py, a file each, and the check that they report to."""
