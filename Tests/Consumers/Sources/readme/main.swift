// The lines of README in a main.swift of Swift 5. The file is built, but not run.
import Foundation
import Nightshift

final class Downloads: NSObject, URLSessionDownloadDelegate {
    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
    }
}

let session = URLSession(
    configuration: .background(withIdentifier: "library"), delegate: Downloads(), delegateQueue: nil)
session.downloadTask(with: URL(string: "https://example.org/file")!).resume()
Application.shared.setMinimumBackgroundFetchInterval(Application.backgroundFetchIntervalMinimum)
let task = Application.shared.beginBackgroundTask(withName: "Saving") {}
Application.shared.endBackgroundTask(task)
Application.shared.run()
