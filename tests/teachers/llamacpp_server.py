"""Run by the Python that has xllamacpp: llama.cpp's own server, until its standard input is closed."""

import sys

import xllamacpp  # type: ignore[import-not-found]  # in a virtual environment of the test's own

parameters = xllamacpp.CommonParams()
parameters.model.path = sys.argv[1]
parameters.n_ctx = 2048
parameters.n_parallel = 1
parameters.port = 0 if len(sys.argv) < 3 else int(sys.argv[2])
server = xllamacpp.Server(parameters)
print(server.listening_address, flush=True)
sys.stdin.read()
