package import Apps
package import Logging
import NightshiftAPI
package import Transfers

extension AppService.TransferHooks {
    /// Creates the hooks that apply changes of an app's state to its transfers.
    package init(_ transfers: TransferService, logger: Logger) {
        self.init(
            forceQuit: { app in
                do throws(Problem) {
                    try await transfers.forceQuit(app)
                } catch {
                    logger.error(
                        "The transfers of a force-quit app could not be cancelled",
                        metadata: ["app": "\(app)", "error": "\(error)"])
                }
            },
            cameToFront: { await transfers.cameToFront($0) },
            setListening: { await transfers.setListening($0, $1) },
            acknowledge: { app, session, through in
                do throws(Problem) {
                    try await transfers.acknowledge(app, session, through: through)
                } catch {
                    logger.error("Messages were not removed", metadata: ["app": "\(app)", "error": "\(error)"])
                }
            })
    }
}
