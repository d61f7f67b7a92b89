import Foundation
import Nightshift
import Synchronization
import TestSupport

/// A delegate that records its calls as text.
final class Recorder: NSObject, URLSessionDownloadDelegate, URLSessionDataDelegate, URLSessionBackgroundDelegate,
    Sendable
{
    let heard = Watched<[String]>([])
    let errors = Watched<[Int: any Error]>([:])
    let locations = Watched<[URL]>([])
    /// A closure that ``Recorder`` calls with a finished file while the file exists.
    let onFile: @Sendable (URL) -> Void
    let onChallenge: @Sendable (URLAuthenticationChallenge) -> (URLSession.AuthChallengeDisposition, URLCredential?)

    init(
        onFile: @escaping @Sendable (URL) -> Void = { _ in },
        onChallenge:
            @escaping @Sendable (URLAuthenticationChallenge) -> (
                URLSession.AuthChallengeDisposition, URLCredential?
            ) = { _ in (.performDefaultHandling, nil) }
    ) {
        self.onFile = onFile
        self.onChallenge = onChallenge
    }

    func note(_ text: String) {
        heard.update { $0.append(text) }
    }

    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
        let content = (try? String(contentsOf: location, encoding: .utf8)) ?? "no file"
        locations.update { $0.append(location) }
        note("\(downloadTask.taskIdentifier) finished '\(content)'")
        onFile(location)
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        note("\(downloadTask.taskIdentifier) wrote \(bytesWritten), \(totalBytesWritten)/\(totalBytesExpectedToWrite)")
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        note("\(downloadTask.taskIdentifier) resumed at \(fileOffset)/\(expectedTotalBytes)")
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        note("\(task.taskIdentifier) sent \(bytesSent), \(totalBytesSent)/\(totalBytesExpectedToSend)")
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        note("\(dataTask.taskIdentifier) received '\(String(decoding: data, as: UTF8.self))'")
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        if let error { errors.update { $0[task.taskIdentifier] = error } }
        let code = (error as? URLError).map { " \($0.code.rawValue)" } ?? ""
        note("\(task.taskIdentifier) completed\(code)")
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        note("invalid" + ((error as? URLError).map { " \($0.code.rawValue)" } ?? ""))
    }

    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
        note("finished events")
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @Sendable @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        note("\(task.taskIdentifier) challenged by \(challenge.protectionSpace.authenticationMethod)")
        let (disposition, credential) = onChallenge(challenge)
        completionHandler(disposition, credential)
    }
}
