import Glibc

/// A system call that failed.
package struct SystemError: Error, CustomStringConvertible {
    package let call: String
    package let code: Int32

    /// Takes the code from `errno` unless one is given.
    package init(_ call: String, code: Int32 = errno) {
        self.call = call
        self.code = code
    }

    package var description: String { "\(call): \(String(cString: strerror(code)))" }
}
