import Foundation
import Nightshift

/// The listings of Apple's article "Downloading files in the background", with one additional import (row T7). All code
/// here compiles unchanged in an iOS app. That the code also compiles on Linux is half of the test.
final class ViewController: NSObject, URLSessionDownloadDelegate, @unchecked Sendable {
    // This is unchecked, as in an app, because only one thread uses it.
    lazy var urlSession: URLSession = {
        let config = URLSessionConfiguration.background(withIdentifier: "MySession")
        config.isDiscretionary = true
        config.sessionSendsLaunchEvents = true
        config.waitsForConnectivity = true
        config.allowsExpensiveNetworkAccess = false
        config.sharedContainerIdentifier = "group.example"
        return URLSession(configuration: config, delegate: self, delegateQueue: nil)
    }()

    func start() -> URLSessionDownloadTask {
        let backgroundTask = urlSession.downloadTask(with: url())
        backgroundTask.earliestBeginDate = Date().addingTimeInterval(60 * 60)
        backgroundTask.countOfBytesClientExpectsToSend = 200
        backgroundTask.countOfBytesClientExpectsToReceive = 500 * 1024
        backgroundTask.resume()
        return backgroundTask
    }

    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
        guard let httpResponse = downloadTask.response as? HTTPURLResponse,
            (200...299).contains(httpResponse.statusCode)
        else { return }
        do {
            let documentsURL = try FileManager.default.url(
                for: .documentDirectory, in: .userDomainMask, appropriateFor: nil, create: false)
            let savedURL = documentsURL.appendingPathComponent(location.lastPathComponent)
            try FileManager.default.moveItem(at: location, to: savedURL)
        } catch {
            _ = error.localizedDescription
        }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let error = error else { return }
        let userInfo = (error as NSError).userInfo
        if let resumeData = userInfo[NSURLSessionDownloadTaskResumeData] as? Data {
            urlSession.downloadTask(withResumeData: resumeData).resume()
        }
        if let reason = userInfo[NSURLErrorBackgroundTaskCancelledReasonKey] as? Int,
            reason == NSURLErrorCancelledReasonUserForceQuitApplication
        {
        }
    }
}

/// The only line that Linux requires in addition.
extension ViewController: URLSessionBackgroundDelegate {
    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {}
}
