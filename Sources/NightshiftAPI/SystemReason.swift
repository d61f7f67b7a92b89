import Foundation

extension Error {
    /// Why a file could not be read or written, in the system's words: "No such file or directory".
    ///
    /// Foundation's own sentence says first that the operation could not be completed, and then often no more.
    package var systemReason: String {
        var error: any Error = self
        while let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? any Error { error = cause }
        let cause = error as NSError
        return cause.domain == NSPOSIXErrorDomain ? String(cString: strerror(Int32(cause.code))) : localizedDescription
    }
}
