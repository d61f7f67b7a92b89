import Foundation
import Harness
import Nightshift

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A class in a file with the imports of packages for several systems, in Swift 6.
private final class Downloader: NSObject, URLSessionDownloadDelegate {
    let listener = Listener()

    func session(_ configuration: URLSessionConfiguration) -> URLSession {
        URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
    }

    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
        listener.urlSession(session, downloadTask: downloadTask, didFinishDownloadingTo: location)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        listener.urlSession(session, task: task, didCompleteWithError: error)
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        listener.urlSession(session, didBecomeInvalidWithError: error)
    }
}

func beside() async {
    await situation("Swift 6 with a second import") {
        let downloader = Downloader()
        let configuration: URLSessionConfiguration = .background(withIdentifier: Origin.identifier("second-import"))
        configuration.sharedContainerIdentifier = "group.example"
        configuration.waitsForConnectivity = true
        try await fetches(downloader.session(configuration), downloader.listener)
    }
}
