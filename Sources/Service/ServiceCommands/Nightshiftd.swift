import Apps
import ArgumentParser
import CNightshift
import Daemon
import Executors
import Glibc

/// The program `nightshiftd`, from its arguments to its exit code.
package enum ServiceProgram {
    /// Runs the program with the arguments and the environment of this process. It must be called before anything else
    /// reads the environment, on the main thread.
    package static func main() -> Never {
        // systemd has started this process to become the program of an app.
        if CommandLine.arguments.dropFirst().elementsEqual(AppUnits.arguments) {
            exit(nightshift_launch_receive(STDIN_FILENO) == 0 ? 0 : 127)
        }
        nightshift_open_standard_descriptors()
        // The environment is cleared before any library reads it.
        ServiceEnvironment.clear()
        // This is set before libdispatch starts a thread. Some of its threads request a better nice value than a user
        // may have, and each refusal writes a line to the system log: thousands per day. Setting LIBDISPATCH_LOG=YES
        // keeps these lines.
        setenv("LIBDISPATCH_LOG", "NO", 0)
        QuietRuntime.begin()
        Task.detached {
            await Nightshiftd.main()
            exit(0)
        }
        DaemonSignals.serve()
    }
}

struct Nightshiftd: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "nightshiftd",
        abstract: "The background-execution service.",
        discussion: """
            Runs in the foreground until SIGTERM or SIGINT. The nightshift command starts it when it is needed, and \
            'nightshift service install' lets systemd manage it. You rarely need to start it by hand.

            ENVIRONMENT (variables, or lines of the file nightshiftd.env in the configuration directory)
              NIGHTSHIFT_HOME                one directory for everything, instead of the XDG directories
              NIGHTSHIFT_LOG_LEVEL           trace, debug, info, notice, warning, error or critical
              NIGHTSHIFT_PROXY               a proxy for transfers that name none
              NIGHTSHIFT_CA_FILE             a PEM file of certificates to trust instead of the system's
              NIGHTSHIFT_CLIENT_CERTIFICATE, NIGHTSHIFT_CLIENT_KEY
                                             PEM files of a client certificate for transfers that name none
              NIGHTSHIFT_DEVICE_TRACE        a trace that replaces the real device
              NIGHTSHIFT_GPSD                the address of gpsd, as ADDRESS:PORT; none disables gpsd

            EXIT STATUS
              0 stopped on request   2 wrong configuration   4 already running   5 a directory cannot be used
              6 the database cannot be used
            """,
        version: DaemonProcess.version,
        subcommands: [
            RunCommand.self, CheckCommand.self, SimulationCommand.self, PageProcessCommand.self,
            BridgeProcessCommand.self,
        ],
        defaultSubcommand: RunCommand.self)
}
