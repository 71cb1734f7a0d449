// Prints where CPython keeps what agent/stacks/python_layout.cc has to know, by offsetof of the interpreter's own
// headers:
//
//     cc -I PREFIX/include/python3.N -I PREFIX/include/python3.N/internal python_offsets.c && ./a.out > python-3.N.txt
//
// It knows nothing of our table. Names are those of PythonLayout; 3.13 prints where _Py_DebugOffsets has them.

#define Py_BUILD_CORE 1
#include <Python.h>
#include <stddef.h>
#include <stdio.h>
#if PY_VERSION_HEX < 0x03090000
#include <internal/pycore_pystate.h>
#else
#include <internal/pycore_interp.h>
#include <internal/pycore_runtime.h>
#endif
#include <frameobject.h>
#if PY_VERSION_HEX >= 0x030B0000
#include <internal/pycore_frame.h>
#endif

#define SHOW(name, type, field) printf("%s %zu\n", name, offsetof(type, field))

int main(void) {
  printf("version 3.%d.%d\n", PY_MINOR_VERSION, PY_MICRO_VERSION);
#if PY_VERSION_HEX >= 0x030D0000
  SHOW("version", _Py_DebugOffsets, version);
  SHOW("free_threaded", _Py_DebugOffsets, free_threaded);
  SHOW("first_interpreter", _Py_DebugOffsets, runtime_state.interpreters_head);
  SHOW("next_interpreter", _Py_DebugOffsets, interpreter_state.next);
  SHOW("first_thread", _Py_DebugOffsets, interpreter_state.threads_head);
  SHOW("next_thread", _Py_DebugOffsets, thread_state.next);
  SHOW("thread_handle", _Py_DebugOffsets, thread_state.thread_id);
  SHOW("native_id", _Py_DebugOffsets, thread_state.native_thread_id);
  SHOW("top_frame", _Py_DebugOffsets, thread_state.current_frame);
  SHOW("previous_frame", _Py_DebugOffsets, interpreter_frame.previous);
  SHOW("frame_code", _Py_DebugOffsets, interpreter_frame.executable);
  SHOW("frame_owner", _Py_DebugOffsets, interpreter_frame.owner);
  SHOW("code_file", _Py_DebugOffsets, code_object.filename);
  SHOW("code_name", _Py_DebugOffsets, code_object.qualname);
  SHOW("code_first_line", _Py_DebugOffsets, code_object.firstlineno);
  SHOW("text_length", _Py_DebugOffsets, unicode_object.length);
  SHOW("text_state", _Py_DebugOffsets, unicode_object.state);
  SHOW("ascii_header", _Py_DebugOffsets, unicode_object.asciiobject_size);
  printf("wide_header_beyond_ascii %zu\n", sizeof(PyCompactUnicodeObject) - sizeof(PyASCIIObject));
#else
  SHOW("first_interpreter", _PyRuntimeState, interpreters.head);
  SHOW("next_interpreter", PyInterpreterState, next);
#if PY_VERSION_HEX >= 0x030B0000
  SHOW("first_thread", PyInterpreterState, threads.head);
#else
  SHOW("first_thread", PyInterpreterState, tstate_head);
#endif
  SHOW("next_thread", PyThreadState, next);
  SHOW("thread_handle", PyThreadState, thread_id);
#if PY_VERSION_HEX >= 0x030B0000
  SHOW("native_id", PyThreadState, native_thread_id);
  SHOW("top_frame", PyThreadState, cframe);
  SHOW("cframe_top", _PyCFrame, current_frame);
  SHOW("previous_frame", _PyInterpreterFrame, previous);
  SHOW("frame_code", _PyInterpreterFrame, f_code);
  SHOW("frame_owner", _PyInterpreterFrame, owner);
  SHOW("code_name", PyCodeObject, co_qualname);
#else
  SHOW("top_frame", PyThreadState, frame);
  SHOW("previous_frame", PyFrameObject, f_back);
  SHOW("frame_code", PyFrameObject, f_code);
  SHOW("code_name", PyCodeObject, co_name);
#endif
  SHOW("code_file", PyCodeObject, co_filename);
  SHOW("code_first_line", PyCodeObject, co_firstlineno);
  SHOW("text_length", PyASCIIObject, length);
  // A bit field: the number behind the hash.
  printf("text_state %zu\n", offsetof(PyASCIIObject, hash) + sizeof(Py_hash_t));
  printf("ascii_header %zu\n", sizeof(PyASCIIObject));
  printf("wide_header %zu\n", sizeof(PyCompactUnicodeObject));
#endif
  return 0;
}
