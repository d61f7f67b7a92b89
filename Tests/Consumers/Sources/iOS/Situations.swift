import CoreLocation
import Foundation
import Harness
import UIKit
import UserNotifications

func sourcesOfiOS() async {
    await situation("modules of iOS can be imported") {
        #if canImport(UIKit) && canImport(BackgroundTasks) && canImport(CoreLocation) && canImport(UserNotifications)
            let canImport = true
        #else
            let canImport = false
        #endif
        try expect(canImport, "a module of iOS cannot be imported")
    }
    await situation("another target of the build sees no UIKit") {
        try expect(!otherTargetSeesUIKit, "the alias reaches beyond its target")
    }
    await situation("a manager that imports Foundation alone downloads in the background") {
        let text = Outcome<String>("a text")
        DownloadManager.shared.download(Origin.file("alias")) { text.give((try? $0.get()) ?? "no file") }
        try expectEqual(try await text.value(), Origin.text(of: "alias"))
        try expect(DownloadManager.shared.isInBackground, "the session is not one for the background")
    }
    await situation("an app delegate of UIKit handles the events of a session") {
        try await MainActor.run {
            let delegate = AppDelegate()
            try expect(
                delegate.application(UIApplication.shared, didFinishLaunchingWithOptions: nil), "it does not launch")
            let isHandled = Outcome<Bool>("the events")
            let handler: UIApplicationDelegate = delegate
            handler.application(
                UIApplication.shared, handleEventsForBackgroundURLSession: "com.example",
                completionHandler: {
                    isHandled.give(true)
                })
            DownloadManager.shared.backgroundCompletionHandler?()
            try expectEqual(isHandled.current, true)
        }
    }
    await situation("background time is requested through UIKit") {
        let isSaved = await MainActor.run {
            var isSaved = false
            saveInBackground { isSaved = true }
            return isSaved
        }
        try expect(isSaved, "nothing was saved")
    }
    await situation("a region and a notification have their values") {
        let region = Places().region("home", at: CLLocationCoordinate2D(latitude: 52.5, longitude: 13.4))
        try expect(region.contains(CLLocationCoordinate2D(latitude: 52.5, longitude: 13.4)), "it is not where it is")
        let request = Reminders.request("Done", in: 60)
        try expectEqual(request.content.title, "Done")
    }
}
