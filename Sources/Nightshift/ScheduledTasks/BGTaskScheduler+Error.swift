public import Foundation
import NightshiftAPI

extension BGTaskScheduler {
    /// The domain of ``Error``.
    public static let errorDomain = "BGTaskSchedulerErrorDomain"

    /// Why a request was not taken.
    public struct Error: CustomNSError, Hashable, Sendable {
        public enum Code: Int, Sendable {
            /// Background refresh is switched off, or there is no service.
            case unavailable = 1
            /// As many requests wait as may.
            case tooManyPendingTaskRequests = 2
            /// The app's entry does not declare the mode or the identifier, its user does not let it, or what the task needs is not there.
            case notPermitted = 3
            /// A continued task that must not wait has no room now.
            case immediateRunIneligible = 4
        }

        public let code: Code
        private let reason: String

        /// For tests of an app's own.
        public init(_ code: Code, userInfo: [String: Any] = [:]) {
            self.init(
                code, userInfo[NSLocalizedDescriptionKey] as? String ?? "The task request was not taken: \(code).")
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
                // The service cannot do it now.
                case _ where problem.isPassing: .unavailable
                default: .notPermitted
                }
            self.init(code, problem.detail ?? problem.title)
        }

        public static var errorDomain: String { BGTaskScheduler.errorDomain }

        public var errorCode: Int { code.rawValue }

        /// The service's own words, with the key that is missing in the app's entry.
        public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: reason] }

        public static var unavailable: Code { .unavailable }
        public static var tooManyPendingTaskRequests: Code { .tooManyPendingTaskRequests }
        public static var notPermitted: Code { .notPermitted }
        public static var immediateRunIneligible: Code { .immediateRunIneligible }
    }
}

extension BGTaskScheduler.Error.Code {
    /// Lets an error be caught by its code: `catch BGTaskScheduler.Error.notPermitted`.
    public static func ~= (code: Self, error: any Error) -> Bool {
        (error as? BGTaskScheduler.Error)?.code == code
    }
}
