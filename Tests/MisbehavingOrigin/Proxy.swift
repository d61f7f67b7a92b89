import ArgumentParser
import TestSupport

struct Proxy: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Makes the way to a port of loopback long and narrow, until SIGTERM, SIGINT or the end of its time.")

    @Option(help: "The port of the server.")
    var to: UInt16

    @Option(help: "Write the proxy's port to this file once it listens.")
    var portFile: String?

    @Option(help: "Milliseconds that each way takes.")
    var latency = 0

    @Option(help: "Bytes per second of all connections together, for each direction.")
    var rate: ByteCount?

    @Option(help: "Bytes per second of each connection, for each direction.")
    var rateEach: ByteCount?

    @Option(help: "Bytes per second of the second connection, in place of --rate-each.")
    var rateSecond: ByteCount?

    @Option(help: "Close the first connection after so many bytes.")
    var cutFirst: ByteCount?

    @Option(help: "End after so many seconds.")
    var seconds = 600

    func run() throws {
        let signals = EndSignals()
        var conditions = ChaosProxy.Conditions(latency: .milliseconds(latency), bytesPerSecond: rate?.bytes)
        conditions.bytesPerSecondEach = rateEach?.bytes
        conditions.firstCut = cutFirst?.bytes
        if let rateSecond { conditions.bytesPerSecondOf = [1: rateSecond.bytes] }
        let proxy = try ChaosProxy(to: to, conditions: conditions)
        if let portFile { try PortFile.publish(proxy.port, in: portFile) }
        _ = signals.wait(.seconds(seconds))
        proxy.stop()
        let totals = proxy.totals
        printLine("\(totals.connections) connections, \(totals.bytesUp) bytes up, \(totals.bytesDown) bytes down")
    }
}
