"""Memory of a warm process before it forks: laid out so that a forked process touches, and so copies, few pages.

What a process allocates first after a fork comes from gaps between objects that stay: of the C library, and of Python's
own allocator. Each gap is on another page, which is copied for it. A warm process fills the gaps with blocks that it
never gives back, so that its forks begin on pages that hold nothing else: these are handed out one after another.
"""

import ctypes
import gc

_POOL = 1 << 14  # bytes that Python's allocator gives to objects of one size
_SMALL = 512  # bytes: larger ones come from the C library
_ALIGNED = 16
_LARGEST = 4096  # of the C library's blocks whose gaps are filled
_MOST = 20_000  # blocks of one size; a process that has more gaps keeps the others


_fork = ctypes.PyDLL(None).fork


def fork():
    """As os.fork, without what Python does for processes with threads, here and in the child: its locks are made anew,
    those of `logging` and `threading` too, which touches 300 pages. No thread of a warm process could hold one."""
    child = _fork()
    if child < 0:
        raise OSError("a warm process cannot fork")
    return child


def settle():
    """Before the first fork, when everything is imported."""
    gc.collect()
    gc.freeze()  # a collection in a forked process would touch, and so copy, every page
    ctypes.CDLL(None).malloc_trim(0)  # pages that are free need no copying
    _fill_gaps_of_python()
    _fill_gaps_of_c()


def _fill_gaps_of_python():
    allocate, free = ctypes.pythonapi.PyObject_Malloc, ctypes.pythonapi.PyObject_Free
    allocate.restype, allocate.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    free.restype, free.argtypes = None, [ctypes.c_void_p]
    objects_of = ctypes.c_uint.from_address  # a pool begins with the number of objects in it
    for size in range(_ALIGNED, _SMALL + 1, _ALIGNED):
        for _ in range(_MOST):
            block = allocate(size)
            if objects_of(block & -_POOL).value == 1:
                free(block)
                break


def _fill_gaps_of_c():
    library = ctypes.CDLL(None)
    allocate, free, end_of_heap = library.malloc, library.free, library.sbrk
    allocate.restype, allocate.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    free.restype, free.argtypes = None, [ctypes.c_void_p]
    end_of_heap.restype, end_of_heap.argtypes = ctypes.c_void_p, [ctypes.c_ssize_t]
    end = end_of_heap(0)
    for size in range(_LARGEST, 0, -_ALIGNED):  # where no gap is left for a size, smaller ones do not split larger gaps
        for _ in range(_MOST):
            block = allocate(size)
            if block >= end:
                free(block)
                break
