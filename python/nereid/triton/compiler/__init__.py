from .compiler import ASTSource, CompiledKernel, compile, make_backend
from .errors import CompilationError, CompileTimeAssertionFailure, UnsupportedLanguageConstruct
from ..runtime.driver import GPUTarget

__all__ = ["ASTSource", "compile", "CompiledKernel", "make_backend", "CompilationError", "CompileTimeAssertionFailure",
           "UnsupportedLanguageConstruct", "GPUTarget"]
