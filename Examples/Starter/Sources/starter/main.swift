import Foundation
import Nightshift

/// A delegate that saves the completed file and ends the program.
final class Keeper: NSObject, URLSessionDownloadDelegate {
    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
        let name = downloadTask.response?.suggestedFilename ?? "download"
        do {
            try FileManager.default.moveItem(at: location, to: URL(fileURLWithPath: name))
            print("Kept \(name).")
        } catch {
            print("\(name) could not be saved: \(error.localizedDescription)")
        }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: Error?) {
        if let error { print("The download failed: \(error.localizedDescription)") }
        exit(error == nil ? 0 : 1)
    }
}

let session = URLSession(configuration: .background(withIdentifier: "starter"), delegate: Keeper(), delegateQueue: nil)
if let url = CommandLine.arguments.dropFirst().first.flatMap(URL.init(string:)) {
    session.downloadTask(with: url).resume()
    print("Downloading \(url.absoluteString). If this program is killed, start it again without a URL.")
} else {
    print("Waiting for a download that an earlier run started.")
}
RunLoop.main.run()
