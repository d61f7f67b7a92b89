import Foundation
import Nightshift

// Whether the library's one trick holds in an optimised build of another package: the initialiser that an iOS listing
// calls returns the library's own class. It rests on the compiler, so each toolchain has to show it anew.

final class Delegate: NSObject, URLSessionDownloadDelegate, Sendable {
    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {}
}

func require(_ isSo: Bool, _ claim: String) {
    print("\(isSo ? "holds" : "DOES NOT HOLD"): \(claim)")
    if !isSo { exit(1) }
}

let configuration = URLSessionConfiguration.background(withIdentifier: "library-client")
configuration.isDiscretionary = true
configuration.sessionSendsLaunchEvents = true
configuration.waitsForConnectivity = true
configuration.allowsCellularAccess = false
configuration.allowsExpensiveNetworkAccess = false
configuration.allowsConstrainedNetworkAccess = false
configuration.requiresExternalPower = true
configuration.minimumBattery = 20
let session = URLSession(configuration: configuration, delegate: Delegate(), delegateQueue: nil)
require(session is BackgroundURLSession, "a configuration in a variable makes a background session")
require(session.configuration.identifier == "library-client", "the session has its configuration's identifier")

let implicit = URLSession(
    configuration: .background(withIdentifier: "library-client-2"), delegate: Delegate(), delegateQueue: nil)
require(implicit is BackgroundURLSession, "an implicit member makes a background session")

let plain = URLSession(configuration: .default, delegate: Delegate(), delegateQueue: nil)
require(!(plain is BackgroundURLSession), "a default configuration makes a plain session")

let kept = session.configuration as? BackgroundConfiguration
require(
    kept?.allowsExpensiveNetworkAccess == false && kept?.allowsConstrainedNetworkAccess == false
        && kept?.allowsCellularAccess == false && kept?.requiresExternalPower == true && kept?.minimumBattery == 20,
    "what a configuration forbids its session knows")

DispatchQueue.global().sync {
    // Without a service nobody suspends this process: it has its task.
    let task = Application.shared.beginBackgroundTask(withName: "library-client") {}
    require(task != .invalid, "a background task begins on any thread")
    require(
        Application.shared.backgroundTimeRemaining == .greatestFiniteMagnitude, "without a service there is no limit")
    Application.shared.endBackgroundTask(task)
}
