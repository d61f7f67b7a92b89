import Apps
import CNightshift
import Foundation
import Glibc
import NightshiftAPI

/// A small version of the service, for tests that end it. It hosts two `/bin/sh` processes that count, freezes them,
/// reports that, and waits. Its arguments are the home, `automatic` or `signals`, the folder that the counters write
/// to, and a command for the first process.
@main
enum ProcessHostProbe {
    static func main() {
        let arguments = CommandLine.arguments
        // As the service does when systemd starts it to become the program of an app.
        if arguments.dropFirst().elementsEqual(AppUnits.arguments) {
            exit(nightshift_launch_receive(STDIN_FILENO) == 0 ? 0 : 127)
        }
        guard arguments.count == 5 else { exit(64) }
        let paths = ServicePaths(environment: ["NIGHTSHIFT_HOME": arguments[1]], homeDirectory: URL(filePath: "/"))
        // This lock acts as the service's own lock, which no child process may inherit.
        let lock = open(arguments[1] + "/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0, flock(lock, LOCK_EX | LOCK_NB) == 0 else { exit(75) }
        let host = SystemProcessHost(
            paths: paths, bootID: ProcessIdentity.currentBootID,
            suspension: arguments[2] == "signals" ? .signals : .automatic)
        var report: [String] = []
        for number in 1...2 {
            let plan = LaunchPlan(
                app: AppID(rawValue: "probe\(number)"), program: "/bin/sh", arguments: ["-c", arguments[4]],
                environment: ["PATH": "/usr/bin:/bin", "NUMBER": "\(number)"], directory: arguments[3],
                log: arguments[3] + "/log\(number)")
            guard let process = try? host.launch(plan), (try? host.begin(process)) != nil else { exit(70) }
            report.append("\(process.pid) \(process.startTime) \(host.suspend(process) ? "frozen" : "running")")
        }
        report.append("guardian \(host.guardian ?? 0)")
        let text = report.joined(separator: "\n") + "\n"
        guard (try? text.write(toFile: arguments[3] + "/report", atomically: true, encoding: .utf8)) != nil else {
            exit(74)
        }
        while true { pause() }
    }
}
