#!/usr/bin/python3
"""One rank of a training loop in Python, under mpirun, whose collectives are MPI's and so recorded as those of any
program. A rank whose number stands in the file waits for a batch that never comes.

Usage: python_rank.py FILE
"""

import ctypes
import os
import pathlib
import sys
import threading
import time

STEP_SECONDS = 0.05

ctypes.CDLL("libmpi.so.40", mode=ctypes.RTLD_GLOBAL)
MPI = ctypes.CDLL(None)  # as the program's own calls: what is preloaded comes first


def handle(name):
    return ctypes.byref(ctypes.c_char.in_dll(MPI, name))


def load_batch(order, rank):
    while order.exists() and order.read_text().strip() == str(rank):
        wait_for_the_storage()


def wait_for_the_storage():
    time.sleep(0.5)


def all_reduce(values, result):
    MPI.MPI_Allreduce(values, result, len(values), handle("ompi_mpi_float"), handle("ompi_mpi_op_sum"),
                      handle("ompi_mpi_comm_world"))


def watch_the_loss():
    threading.Event().wait()


def main():
    order = pathlib.Path(sys.argv[1])
    MPI.MPI_Init(None, None)
    rank = int(os.environ["OMPI_COMM_WORLD_RANK"])
    threading.Thread(target=watch_the_loss, daemon=True).start()
    values = (ctypes.c_float * 1024)()
    result = (ctypes.c_float * 1024)()
    while True:
        time.sleep(STEP_SECONDS)
        load_batch(order, rank)
        all_reduce(values, result)


if __name__ == "__main__":
    main()
