extension Problem {
    package static func badRequest(_ detail: String, pointer: String? = nil) -> Problem {
        Problem(
            type: "/problems/bad-request", title: "The request is malformed", status: 400, detail: detail,
            pointer: pointer)
    }

    package static func invalid(
        _ detail: String, pointer: String? = nil, code: TransferFailure.Code? = nil
    ) -> Problem {
        Problem(
            type: "/problems/invalid", title: "The request is not valid", status: 422,
            detail: detail, pointer: pointer, code: code)
    }

    /// Throws if a client's data for a transfer is too long.
    package static func check(clientData: String?, pointer: String) throws(Problem) {
        guard clientData?.utf8.count ?? 0 <= Limits.clientDataLength else {
            throw .invalid(
                "The client data of a transfer can have at most \(Limits.clientDataLength) bytes.", pointer: pointer)
        }
    }

    package static func forbidden(_ detail: String) -> Problem {
        Problem(type: "/problems/forbidden", title: "Not allowed", status: 403, detail: detail)
    }

    package static func notFound(_ detail: String) -> Problem {
        Problem(type: "/problems/not-found", title: "Not found", status: 404, detail: detail)
    }

    /// Returns the problem that the session does not exist yet. The request that creates the session may arrive later.
    package static func noSession(_ session: SessionID) -> Problem {
        Problem(
            type: "/problems/no-session", title: "Session not found", status: 404,
            detail: "There is no session '\(session)'.")
    }

    /// Returns the problem that a valid request is not possible in the current state.
    package static func conflict(_ detail: String) -> Problem {
        Problem(type: "/problems/conflict", title: "Not possible in the current state", status: 409, detail: detail)
    }

    /// Returns the problem that another process reads the session's messages
    /// (NSURLErrorBackgroundSessionInUseByAnotherProcess).
    package static func sessionInUse(_ detail: String) -> Problem {
        Problem(
            type: "/problems/session-in-use", title: "Another process uses the session", status: 409, detail: detail)
    }

    /// Returns the problem that the calling process has no command stream, so that the service does not know its app.
    package static func notConnected(_ detail: String) -> Problem {
        Problem(type: "/problems/not-connected", title: "The process is not connected", status: 409, detail: detail)
    }

    /// Returns the problem that the app has no background time left, or never had any.
    package static func noBackgroundTime(_ detail: String) -> Problem {
        Problem(
            type: "/problems/no-background-time", title: "No background time is available", status: 409, detail: detail)
    }

    /// Returns the problem that the user or the app's desktop entry does not allow the scheduled task
    /// (BGTaskSchedulerErrorCodeNotPermitted).
    package static func taskNotPermitted(_ detail: String) -> Problem {
        Problem(
            type: "/problems/task-not-permitted", title: "The scheduled task is not permitted", status: 403,
            detail: detail)
    }

    /// Returns the problem that background refresh is switched off (BGTaskSchedulerErrorCodeUnavailable).
    package static func refreshUnavailable(_ detail: String) -> Problem {
        Problem(
            type: "/problems/refresh-unavailable", title: "Background refresh is switched off", status: 409,
            detail: detail)
    }

    /// Returns the problem that the maximum number of scheduled tasks is already waiting
    /// (BGTaskSchedulerErrorCodeTooManyPendingTaskRequests).
    package static func tooManyScheduledTasks(_ detail: String) -> Problem {
        Problem(
            type: "/problems/too-many-scheduled-tasks", title: "Too many scheduled tasks are waiting", status: 409,
            detail: detail)
    }

    /// Returns the problem that a continued task cannot start now although it must start immediately
    /// (BGTaskSchedulerErrorCodeImmediateRunIneligible).
    package static func noRoomForTask(_ detail: String) -> Problem {
        Problem(
            type: "/problems/no-room-for-task", title: "The scheduled task cannot start now", status: 409,
            detail: detail)
    }

    /// Returns the problem that the app already monitors the maximum number of regions
    /// (kCLErrorRegionMonitoringFailure).
    package static func tooManyRegions(_ detail: String) -> Problem {
        Problem(
            type: "/problems/too-many-regions", title: "Too many regions are monitored", status: 409, detail: detail)
    }

    package static func tooLarge(_ detail: String) -> Problem {
        Problem(type: "/problems/too-large", title: "The request is too large", status: 413, detail: detail)
    }

    package static func tooMany(_ detail: String) -> Problem {
        Problem(type: "/problems/too-many", title: "Too many requests", status: 429, detail: detail)
    }

    /// Returns the problem that the service cannot handle the request now, because of disk problems or because it is
    /// stopping.
    package static func unavailable(_ detail: String) -> Problem {
        Problem(type: "/problems/unavailable", title: "The service cannot do that now", status: 503, detail: detail)
    }
}
