import Glibc

/// The error of a system call that failed.
package struct SystemError: Error, CustomStringConvertible {
    package let call: String
    package let code: Int32

    /// Creates the error with the code in `errno`, unless another code is given.
    package init(_ call: String, code: Int32 = errno) {
        self.call = call
        self.code = code
    }

    package var description: String { "\(call): \(String(cString: strerror(code)))" }
}
