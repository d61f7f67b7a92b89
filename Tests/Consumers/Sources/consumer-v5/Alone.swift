import Foundation
import Harness
import Nightshift

/// A class of Swift 5 without a word about threads.
private class LegacyManager: NSObject, URLSessionDownloadDelegate {
    var onText: ((String) -> Void)?
    var session: URLSession?

    func connect(_ identifier: String) {
        let configuration: URLSessionConfiguration = .background(withIdentifier: identifier)
        session = URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
    }

    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
        onText?((try? String(contentsOf: location)) ?? "no file")
    }
}

func alone() async {
    await situation("Swift 5 with one import") {
        let manager = LegacyManager()
        let text = Outcome<String>("a text")
        manager.onText = { text.give($0) }
        manager.connect(Origin.identifier("legacy"))
        manager.session?.downloadTask(with: Origin.file("legacy")).resume()
        try expectEqual(try await text.value(), Origin.text(of: "legacy"))
        manager.session?.finishTasksAndInvalidate()
    }
}
