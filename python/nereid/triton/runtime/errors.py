from ..errors import TritonError


class _Message(TritonError):
    def __init__(self, error_message=None):
        super().__init__(error_message)
        self.error_message = error_message

    def __str__(self):
        return self.error_message or ""


class InterpreterError(_Message):
    """What the interpreter found wrong while a kernel ran."""


class PTXASError(_Message):
    pass


class AutotunerError(_Message):
    def __str__(self):
        return f"Autotuner error: {self.error_message or ''}"


class OutOfResources(TritonError):
    def __init__(self, required, limit, name):
        super().__init__(required, limit, name)
        self.required, self.limit, self.name = required, limit, name

    def __str__(self):
        return (f"out of resource: {self.name}, Required: {self.required}, Hardware limit: {self.limit}. Reducing "
                "block sizes or `num_stages` may help.")
