import ArgumentParser
import Foundation
import PushGateway

struct Doctor: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Looks for what keeps a gateway from working.")

    @OptionGroup var places: PlaceOptions

    @Option(help: "The certificate chain that the gateway is run with.")
    var certificate: String?

    @Option(help: "The certificate's key.")
    var key: String?

    @Option(help: "The folder of the database.")
    var state: String?

    func run() async throws {
        var findings: [GatewayFinding] = []
        if let certificate, let key { findings += GatewayChecks.certificate(certificate, key: key) }
        findings += await GatewayChecks.database(
            state ?? PlaceOptions.variable("STATE_DIRECTORY") ?? PlaceOptions.defaultState)
        findings.append(gateway())
        for finding in findings { print("\(finding.isGood ? "ok  " : "BAD ") \(finding.text)") }
        if findings.contains(where: { !$0.isGood }) { throw ExitCode.failure }
    }

    private func gateway() -> GatewayFinding {
        let path = places.socketPath(state: state)
        var finding = GatewayFinding(isGood: false, text: "The gateway at \(path) gave no answer.")
        do {
            try AdministrationClient(path: path).ask(.status) { reply in
                switch reply {
                case .status(let status):
                    let text = "The gateway answers: \(status.deviceConnections) devices are connected."
                    finding = GatewayFinding(isGood: true, text: text)
                case .failed(let reason): finding.text = reason
                default: break
                }
                return false
            }
        } catch {
            finding.text = "\(error)"
        }
        return finding
    }
}
