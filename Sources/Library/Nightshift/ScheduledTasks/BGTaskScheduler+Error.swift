public import Foundation
import NightshiftAPI

extension BGTaskScheduler {
    /// The error domain of ``Error``.
    public static let errorDomain = "BGTaskSchedulerErrorDomain"

    /// An error that says why a request was refused.
    public struct Error: CustomNSError, Hashable, Sendable {
        public enum Code: Int, Sendable {
            /// An error code for when background refresh is switched off, or the service cannot be reached.
            case unavailable = 1
            /// An error code for an app that already has the maximum number of pending requests.
            case tooManyPendingTaskRequests = 2
            /// An error code for a request that is not permitted. Either the app's desktop entry does not declare the
            /// mode or the identifier, or the user does not allow the request, or a resource that the task needs is not
            /// available.
            case notPermitted = 3
            /// An error code for a continued task that must run immediately and cannot.
            case immediateRunIneligible = 4
        }

        public let code: Code
        private let reason: String

        /// Creates an error. Use this initialiser in the tests of your app.
        public init(_ code: Code, userInfo: [String: Any] = [:]) {
            self.init(
                code, userInfo[NSLocalizedDescriptionKey] as? String ?? "The task request was refused: \(code).")
        }

        init(_ code: Code, _ reason: String) {
            self.code = code
            self.reason = reason
        }

        init(_ problem: Problem) {
            let code: Code =
                switch problem.type {
                case Problem.tooManyScheduledTasks("").type: .tooManyPendingTaskRequests
                case Problem.noRoomForTask("").type: .immediateRunIneligible
                case Problem.refreshUnavailable("").type: .unavailable
                // The service temporarily cannot handle the request.
                case _ where problem.isPassing: .unavailable
                default: .notPermitted
                }
            self.init(code, problem.detail ?? problem.title)
        }

        public static var errorDomain: String { BGTaskScheduler.errorDomain }

        public var errorCode: Int { code.rawValue }

        /// A dictionary with the service's reason, which names the key that is missing in the app's desktop entry.
        public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: reason] }

        public static var unavailable: Code { .unavailable }
        public static var tooManyPendingTaskRequests: Code { .tooManyPendingTaskRequests }
        public static var notPermitted: Code { .notPermitted }
        public static var immediateRunIneligible: Code { .immediateRunIneligible }
    }
}

extension BGTaskScheduler.Error.Code {
    /// Returns whether an error has this code. The operator allows you to catch an error by its code: `catch
    /// BGTaskScheduler.Error.notPermitted`.
    public static func ~= (code: Self, error: any Error) -> Bool {
        (error as? BGTaskScheduler.Error)?.code == code
    }
}
