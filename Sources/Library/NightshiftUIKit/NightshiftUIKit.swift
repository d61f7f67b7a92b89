// UIKit also imports Foundation for the app.
@_exported public import Foundation
@_exported public import Nightshift
