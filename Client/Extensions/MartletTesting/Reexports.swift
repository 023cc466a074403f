// Tests see one module. The server is a module of its own, because the inspector uses it, which is not for tests.
@_exported public import MartletServer
