import Foundation
import Harness
import Nightshift

#if canImport(FoundationNetworking) && BESIDE
    import FoundationNetworking
#endif

/// Runs the situations that both programs have.
func everything() async {
    await typedConfigurations()
    await sessions()
    await managers()
    await members()
    await transfers()
    await ordinaryRequests()
    await files()
    await dataTasks()
    await cookies()
    await backgroundFetches()
    await taskScheduling()
    await remoteNotifications()
    await userNotifications()
    await locations()
    await withoutService()
}
