"""The classroom: kernels that start at once, JupyterHub, hand-in, the progress board."""
