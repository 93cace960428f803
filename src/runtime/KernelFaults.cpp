#include "runtime/KernelFaults.h"

#include "support/Knobs.h"

#include <csignal>
#include <mutex>
#include <ucontext.h>
#include <unistd.h>

namespace nereid::runtime {

namespace {
struct Frame {
  void *stack = nullptr; ///< of the call, which the handler goes back to
  bool isFaulty = false;
  MemoryFault fault;
};
} // namespace

// void nereidCallKernel(first, count, context, entry, Frame *): calls `entry` and keeps in the
// frame where its stack is. nereidLeaveKernel is the end of the call: with that stack, registers
// are those of the caller again.
extern "C" void nereidCallKernel(uint64_t first, uint64_t count, const support::CpuContext *context,
                                 support::CpuEntry entry, Frame *frame);
extern "C" void nereidLeaveKernel();
__asm__(R"(
  .text
  .p2align 4
  .hidden nereidCallKernel
  .globl nereidCallKernel
  .type nereidCallKernel, @function
nereidCallKernel:
  .cfi_startproc
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  subq $8, %rsp
  .cfi_offset %rbx, -24
  .cfi_offset %r12, -32
  .cfi_offset %r13, -40
  .cfi_offset %r14, -48
  .cfi_offset %r15, -56
  movq %rsp, (%r8)
  callq *%rcx
  .hidden nereidLeaveKernel
  .globl nereidLeaveKernel
nereidLeaveKernel:
  addq $8, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  .cfi_def_cfa %rsp, 8
  retq
  .cfi_endproc
  .size nereidCallKernel, . - nereidCallKernel
)");

namespace {
// The handler reads it on any thread, so it must be there without a call that makes it.
[[gnu::tls_model("initial-exec")]] thread_local Frame *current = nullptr;

// Not inlined: a fiber may go on in another thread, where `current` is another one.
[[gnu::noinline]] Frame *exchangeCurrent(Frame *next) {
  Frame *before = current;
  current = next;
  return before;
}

// Whether a kernel has been caught.
volatile sig_atomic_t hasCaught = 0;

void handle(int signal, siginfo_t *what, void *state) {
  Frame *frame = current;
  // Sent by someone, or no kernel's: what would have happened without the handler. The instruction
  // is tried again. What a kernel wrote on its way to where it was caught may be the reason.
  if (!frame || what->si_code <= 0) {
    constexpr char text[] =
        "nereid: a kernel reached memory that is not there before this; what it wrote outside of "
        "its tensors may be why the process ends: `nereid check`, or the interpreter "
        "(TRITON_INTERPRET=1), says at which index\n";
    if (hasCaught && what->si_code > 0)
      (void)!::write(STDERR_FILENO, text, sizeof text - 1);
    ::signal(signal, SIG_DFL);
    if (what->si_code <= 0)
      ::raise(signal);
    return;
  }
  greg_t *registers = static_cast<ucontext_t *>(state)->uc_mcontext.gregs;
  constexpr greg_t writes = 2; // of the processor's error code
  frame->isFaulty = true;
  hasCaught = 1;
  frame->fault = {reinterpret_cast<uintptr_t>(what->si_addr), (registers[REG_ERR] & writes) != 0,
                  what->si_code != SI_KERNEL, reinterpret_cast<const void *>(registers[REG_RIP])};
  registers[REG_RSP] = reinterpret_cast<greg_t>(frame->stack);
  registers[REG_RBP] = registers[REG_RSP] + 48; // where nereidCallKernel left it
  registers[REG_RIP] = reinterpret_cast<greg_t>(&nereidLeaveKernel);
}
} // namespace

void catchKernelFaults() {
  if (!support::knobs().catchFaults)
    return;
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  for (int signal : {SIGSEGV, SIGBUS}) {
    struct sigaction now = {};
    if (::sigaction(signal, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) ||
        now.sa_handler != SIG_DFL)
      continue;
    struct sigaction action = {};
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigaction(signal, &action, nullptr);
  }
}

bool callKernel(support::CpuEntry entry, uint64_t first, uint64_t count,
                const support::CpuContext *context, MemoryFault &fault) {
  Frame frame;
  Frame *outer = exchangeCurrent(&frame);
  nereidCallKernel(first, count, context, entry, &frame);
  exchangeCurrent(outer);
  if (frame.isFaulty)
    fault = frame.fault;
  return !frame.isFaulty;
}

KernelPause::KernelPause() : frame(exchangeCurrent(nullptr)) {}
KernelPause::~KernelPause() { exchangeCurrent(static_cast<Frame *>(frame)); }

} // namespace nereid::runtime
