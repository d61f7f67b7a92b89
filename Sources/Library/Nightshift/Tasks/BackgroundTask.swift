import Foundation
import FoundationNetworking
import NightshiftAPI

/// A task of a background session. It joins the app's task object and the library's core.
protocol BackgroundTask: URLSessionTask, Sendable {
    var core: TaskCore { get }
}

extension TaskCore {
    /// Makes the task object for the app.
    func makeTask() -> any BackgroundTask {
        switch kind {
        case .download: BackgroundDownloadTask(self)
        case .upload: BackgroundUploadTask(self)
        }
    }
}
