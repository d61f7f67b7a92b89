import Foundation
import FoundationNetworking
import NightshiftAPI

/// A task of a background session; the delegate's object with the library's part in it.
protocol BackgroundTask: URLSessionTask, Sendable {
    var core: TaskCore { get }
}

extension TaskCore {
    /// The object for the app.
    func makeTask() -> any BackgroundTask {
        switch kind {
        case .download: BackgroundDownloadTask(self)
        case .upload: BackgroundUploadTask(self)
        }
    }
}
