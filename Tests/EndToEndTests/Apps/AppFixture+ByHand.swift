import Foundation
import TestSupport

extension AppFixture {
    /// Starts the probe as a user would, without the service. The new process is the app's second process if one
    /// already runs.
    func startByHand() throws -> ChildProcess {
        try ChildProcess(
            Programs.appProbe, arguments: [scratch.path("orders")],
            environment: [
                "NIGHTSHIFT_HOME": service.home, "HOME": service.scratch.path, "NIGHTSHIFT_APP": app,
                "PATH": "/usr/bin:/bin",
            ])
    }
}
