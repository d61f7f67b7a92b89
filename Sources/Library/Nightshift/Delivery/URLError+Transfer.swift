public import Foundation
import FoundationNetworking
import NightshiftAPI

/// The key of a download's resume data in the user information of an error. FoundationNetworking declares this key
/// without the prefix `NS`.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let NSURLSessionDownloadTaskResumeData = URLSessionDownloadTaskResumeData

/// The key of an upload's resume data in the user information of an error. FoundationNetworking has no such key.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let NSURLSessionUploadTaskResumeData = "NSURLSessionUploadTaskResumeData"

extension URLError {
    /// The data that `uploadTask(withResumeData:)` needs to resume a failed or cancelled upload.
    public var uploadTaskResumeData: Data? {
        userInfo[NSURLSessionUploadTaskResumeData] as? Data
    }

    /// The data that `downloadTask(withResumeData:)` needs to resume a failed or cancelled download.
    public var downloadTaskResumeData: Data? {
        userInfo[URLSessionDownloadTaskResumeData] as? Data
    }

    /// The reason why a background task was cancelled by something other than the app.
    public var backgroundTaskCancelledReason: BackgroundTaskCancelledReason? {
        (userInfo[NSURLErrorBackgroundTaskCancelledReasonKey] as? Int).flatMap(BackgroundTaskCancelledReason.init)
    }

    /// The reasons for which a background task can be cancelled, with the values of
    /// `NSURLErrorBackgroundTaskCancelledReasonKey`.
    public enum BackgroundTaskCancelledReason: Int, Sendable {
        case userForceQuitApplication = 0
        case backgroundUpdatesDisabled = 1
        case insufficientSystemResources = 2
    }
}

extension URLError {
    /// Creates an error of `NSURLErrorDomain`.
    ///
    /// - Parameter url: The URL of the request, for `NSURLErrorFailingURLErrorKey`.
    static func make(
        _ code: Int, _ message: String?, url: URL? = nil, kind: TaskKind = .download, resumeData: Data? = nil,
        reason: Int? = nil
    ) -> URLError {
        var information: [String: Any] = [:]
        information[NSLocalizedDescriptionKey] = message
        information[NSURLErrorFailingURLErrorKey] = url
        // This is NSURLErrorFailingURLStringErrorKey, which is deprecated but still used.
        information["NSErrorFailingURLStringKey"] = url?.absoluteString
        let key = kind == .upload ? NSURLSessionUploadTaskResumeData : URLSessionDownloadTaskResumeData
        information[key] = resumeData
        information[NSURLErrorBackgroundTaskCancelledReasonKey] = reason
        return URLError(_nsError: NSError(domain: NSURLErrorDomain, code: code, userInfo: information))
    }

    /// Creates the error of a task that the service has ended. Returns nil if the task ended successfully.
    init?(_ status: TaskStatus, url: URL?, resumeData: Data?) {
        switch status.state {
        case .suspended, .waiting, .running, .finishing, .completed: return nil
        case .cancelled:
            let isForceQuit = status.error?.code == .forceQuit
            self = .make(
                NSURLErrorCancelled, status.error?.message ?? "cancelled", url: url, kind: status.kind,
                resumeData: resumeData, reason: isForceQuit ? NSURLErrorCancelledReasonUserForceQuitApplication : nil)
        case .failed:
            let failure = status.error ?? TransferFailure(.inputOutput, "The transfer failed.")
            self = .make(
                failure.code.urlErrorCode, failure.message, url: url, kind: status.kind, resumeData: resumeData,
                reason: failure.code == .forceQuit ? NSURLErrorCancelledReasonUserForceQuitApplication : nil)
        }
    }
}

extension TransferFailure.Code {
    /// The corresponding code of `NSURLErrorDomain`.
    ///
    /// The codes come from `URLError.Code`, whose numbers are the same as Apple's. FoundationNetworking's separate
    /// constants are not used, because those for certificates are off by one.
    var urlErrorCode: Int {
        let code: URLError.Code =
            switch self {
            case .cannotResolveHost: .cannotFindHost
            case .cannotConnect, .proxyFailure: .cannotConnectToHost
            case .connectionLost, .truncated: .networkConnectionLost
            case .idleTimeout, .timedOut: .timedOut
            case .tlsFailure: .secureConnectionFailed
            case .certificateOutOfDate: .serverCertificateHasBadDate
            case .protocolError, .serverUnavailable, .resourceChanged, .httpStatus: .badServerResponse
            case .diskFull, .inputOutput: .cannotWriteToFile
            case .badURL: .badURL
            case .unsupportedURL: .unsupportedURL
            case .tooManyRedirects: .httpTooManyRedirects
            case .redirectRefused: .redirectToNonExistentLocation
            case .untrustedServer: .serverCertificateUntrusted
            case .clientCertificate: .clientCertificateRequired
            case .checksumMismatch: .cannotDecodeRawData
            case .sourceMissing: .fileDoesNotExist
            case .sourceChanged: .cannotOpenFile
            case .destinationUnavailable, .destinationExists: .cannotCreateFile
            case .tooLarge: .dataLengthExceedsMaximum
            case .cancelled, .forceQuit: .cancelled
            case .internalFault: .unknown
            }
        return code.rawValue
    }
}
