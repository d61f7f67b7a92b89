import Foundation
import NightshiftAPI

extension Problem {
    /// The code of `NSURLErrorDomain` that says why the service does not take a task or a session; never `NSURLErrorUnknown`.
    var urlErrorCode: Int {
        if let code { return code.urlErrorCode }
        if type == Problem.sessionInUseType { return NSURLErrorBackgroundSessionInUseByAnotherProcess }
        if pointer?.hasSuffix("/source") == true { return NSURLErrorFileDoesNotExist }
        // Used up, or of another kind of task: as with data that this library has not made.
        if pointer?.hasSuffix("/resumeData") == true { return NSURLErrorUnsupportedURL }
        if pointer?.hasSuffix("/description") == true { return NSURLErrorDataLengthExceedsMaximum }
        return switch status {
        case 403: NSURLErrorNoPermissionsToReadFile
        case 413: NSURLErrorDataLengthExceedsMaximum
        case 404, 409, 429, 500...599: NSURLErrorResourceUnavailable
        // It asks for something that cannot be: a method, a field or a number.
        default: NSURLErrorBadURL
        }
    }
}
