#include "binding/Handle.h"

#include "binding/State.h"

namespace nereid::python {

namespace {

PyTypeObject *handleType;

PyObject *handleFacts(PyObject *self, PyObject *) {
  return guarded([&] {
    const HandleObject &kernel = stateOf<HandleObject>(self);
    const support::CodeRecord &code = kernel.code();
    const support::Artifact &artifact = kernel.artifact();
    Ref facts = Ref::take(PyDict_New());
    auto set = [&](const char *name, Ref value) {
      check(PyDict_SetItemString(facts.get(), name, value.get()));
    };
    auto number = [&](const char *name, uint64_t value) {
      set(name, Ref::take(PyLong_FromUnsignedLongLong(value)));
    };
    auto words = [&](const char *name, std::string_view value) { set(name, str(value)); };
    words("name", artifact.name());
    words("target", artifact.text(artifact.kernel().target));
    words("signature", artifact.text(artifact.kernel().signature));
    words("arch", artifact.text(code.arch));
    words("entry", artifact.text(code.entry));
    number("num_warps", code.numWarps);
    number("num_stages", code.numStages);
    number("num_ctas", code.blocksPerProgram);
    number("shared", uint64_t(code.sharedBytes) + code.staticSharedBytes);
    number("n_regs", code.registers);
    number("n_spills", code.spillStoreBytes / 4);
    number("scratch", code.scratchBytes);
    for (int i = 0; i < 3; ++i)
      number(i == 0 ? "cluster_x" : i == 1 ? "cluster_y" : "cluster_z", code.cluster[i]);
    auto hash = artifact.kernel().key.hex();
    words("hash", hash);
    // Parameters whose memory the kernel reads, and those whose memory it changes.
    auto names = [&](const char *name, uint32_t access) {
      Ref list = Ref::take(PyList_New(0));
      for (const support::SlotRecord &slot : artifact.slots())
        if (slot.access & access)
          check(PyList_Append(list.get(), str(artifact.text(slot.name)).get()));
      set(name, std::move(list));
    };
    names("reads", support::AccessRead | support::AccessAtomic);
    names("writes", support::AccessWrite | support::AccessAtomic);
    return facts;
  });
}

// The code sections: {"object" | "ptx" | "cubin": bytes}.
PyObject *handleCode(PyObject *self, PyObject *) {
  return guarded([&] {
    const support::Artifact &artifact = stateOf<HandleObject>(self).artifact();
    Ref all = Ref::take(PyDict_New());
    for (const support::CodeRecord &code : artifact.codes()) {
      const char *kind = support::CodeKind(code.kind) == support::CodeKind::Ptx     ? "ptx"
                         : support::CodeKind(code.kind) == support::CodeKind::Cubin ? "cubin"
                                                                                    : "object";
      auto bytes = artifact.blob(code.code);
      Ref value = Ref::take(PyBytes_FromStringAndSize(reinterpret_cast<const char *>(bytes.data()),
                                                      Py_ssize_t(bytes.size())));
      check(PyDict_SetItemString(all.get(), kind, value.get()));
    }
    return all;
  });
}

// (CUmodule, CUfunction) as integers, or None for code that is not on a GPU.
PyObject *handleNative(PyObject *self, PyObject *) {
  return guarded([&] {
    const HandleObject &kernel = stateOf<HandleObject>(self);
    if (!kernel.kernel)
      return Ref::borrow(Py_None);
    runtime::NativeCode code = orRaise(kernel.kernel->native());
    if (!code.function)
      return Ref::borrow(Py_None);
    return Ref::take(PyTuple_Pack(2, Ref::take(PyLong_FromVoidPtr(code.module)).get(),
                                  Ref::take(PyLong_FromVoidPtr(code.function)).get()));
  });
}

} // namespace

Ref newHandle(HandleObject handle) {
  return create(handleType, new HandleObject(std::move(handle)));
}

void addHandleType(PyObject *module) {
  static PyMethodDef methods[] = {
      {"facts", handleFacts, METH_NOARGS, "What is known of the code, as a dict."},
      {"code", handleCode, METH_NOARGS, "The code by kind."},
      {"native", handleNative, METH_NOARGS, "(CUmodule, CUfunction) of code on a GPU."},
      {}};
  handleType = addType(module, "Handle", sizeof(Object<HandleObject>), Py_TPFLAGS_DEFAULT,
                       {{Py_tp_dealloc, slot(destroy<HandleObject>)}, {Py_tp_methods, methods}});
}

} // namespace nereid::python
