import Foundation
import NightshiftAPI

extension Problem {
    /// The code of `NSURLErrorDomain` for the service's reason to refuse a task or a session. The code is never
    /// `NSURLErrorUnknown`.
    var urlErrorCode: Int {
        if let code { return code.urlErrorCode }
        if type == Problem.sessionInUseType { return NSURLErrorBackgroundSessionInUseByAnotherProcess }
        if pointer?.hasSuffix("/source") == true { return NSURLErrorFileDoesNotExist }
        // The resume data was already used, belongs to another kind of task, or was not created by this library.
        if pointer?.hasSuffix("/resumeData") == true { return NSURLErrorUnsupportedURL }
        if pointer?.hasSuffix("/description") == true { return NSURLErrorDataLengthExceedsMaximum }
        return switch status {
        case 403: NSURLErrorNoPermissionsToReadFile
        case 413: NSURLErrorDataLengthExceedsMaximum
        case 404, 409, 429, 500...599: NSURLErrorResourceUnavailable
        // The request contains an invalid method, field or number.
        default: NSURLErrorBadURL
        }
    }
}
