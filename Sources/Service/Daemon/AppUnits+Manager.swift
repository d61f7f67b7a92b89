import Apps
import Device
import Foundation
import Glibc

extension AppUnits {
    /// The units of the systemd user manager.
    init?(_ manager: SessionManager) {
        guard let program = Self.program else { return nil }
        self.init(
            start: { name, description, arguments, input in
                manager.start(
                    TransientUnit(
                        name: name, description: description, program: program, arguments: arguments, input: input))
            },
            end: { name in
                manager.end(ofUnit: name).map { end in
                    switch end.code {
                    case Int32(CLD_EXITED): .exited(end.status)
                    case Int32(CLD_KILLED), Int32(CLD_DUMPED): .signalled(end.status)
                    default: .unknown
                    }
                }
            },
            remove: { manager.remove(unit: $0) }, ended: { manager.endedUnits(like: $0) },
            gather: { manager.gather($1, into: $0, description: "Logs of apps that Nightshift launched") })
    }

    /// The absolute path of the service's program. After an upgrade it is the path of the new version.
    private static var program: String? {
        // An installation has one program under two names, so the link in /proc has the other name.
        guard let first = CommandLine.arguments.first, first.hasPrefix("/") else {
            return try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        }
        return first
    }
}
