import Foundation

extension Error {
    /// The reason why a file could not be read or written, as the system describes it: "No such file or directory".
    ///
    /// Foundation's own description begins with the statement that the operation could not be completed, and often
    /// contains nothing else.
    package var systemReason: String {
        var error: any Error = self
        while let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? any Error { error = cause }
        let cause = error as NSError
        return cause.domain == NSPOSIXErrorDomain ? String(cString: strerror(Int32(cause.code))) : localizedDescription
    }
}
