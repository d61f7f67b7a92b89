package import Foundation
package import NightshiftAPI

// An app's process makes these requests about itself and its sessions.

extension Endpoint where Answer == Void {
    package static func acknowledge(_ acknowledgement: CommandAcknowledgement) -> Self {
        Self(.post, APIPath("process", "acknowledge"), acknowledgement)
    }

    package static func report(_ change: ProcessStateChange) -> Self {
        Self(.post, APIPath("process", "state"), change)
    }

    /// Sends the snapshot of the calling app.
    ///
    /// - Parameter picture: The bytes of a PNG.
    package static func putSnapshot(_ picture: Data) -> Self {
        Self(.put, APIPath("process", "snapshot"), picture: picture)
    }

    package static func beginBackgroundTask(_ request: BackgroundTaskRequest) -> Self {
        Self(.post, APIPath("process", "background-tasks"), request)
    }

    package static func endBackgroundTask(_ number: Int64) -> Self {
        Self(.delete, APIPath("process", "background-tasks", String(number)))
    }

    /// Acknowledges messages that the app has handled.
    package static func acknowledge(_ messages: MessageAcknowledgement, inSession identifier: String) -> Self {
        Self(.post, APIPath("process", "sessions", identifier, "acknowledge"), messages)
    }

    /// Sends the app's answer to a message.
    package static func answer(_ answer: MessageAnswer, inSession identifier: String) -> Self {
        Self(.post, APIPath("process", "sessions", identifier, "answers"), answer)
    }
}

extension Endpoint where Answer == SessionAttachment {
    package static func attach(_ identifier: String, _ settings: SessionSettings) -> Self {
        Self(.put, APIPath("process", "sessions", identifier), settings)
    }
}

extension Endpoint where Answer == SessionTaskPage {
    /// Reads a page of the session's transfers after a given one.
    package static func tasks(inSession identifier: String, after last: TaskID? = nil) -> Self {
        Self(
            .get,
            APIPath("process", "sessions", identifier, "tasks").query("after", last?.rawValue)
                .query("limit", Int64(Limits.pageSize)), mayBeNewer: true)
    }
}

extension Endpoint where Answer == EnqueueResponse {
    package static func enqueue(_ request: SessionEnqueueRequest, inSession identifier: String) -> Self {
        Self(.post, APIPath("process", "sessions", identifier, "tasks"), request)
    }
}
