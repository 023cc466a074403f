#pragma once
#include <glib-unix.h>
#include <gtk/gtk.h>

// Functions that Swift cannot call: variadic ones, and macros that cast.

static inline void cgtk_set_accessible_label(void *widget, const char *label) {
  gtk_accessible_update_property(GTK_ACCESSIBLE(widget), GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
}

static inline void cgtk_prefer_dark(gboolean is_dark) {
  g_object_set(gtk_settings_get_default(), "gtk-application-prefer-dark-theme", is_dark, NULL);
}

// Connects a signal to a function that gets all arguments as values, whatever the signal is.
static inline void cgtk_connect(void *object, const char *signal, void *data, GClosureMarshal marshal,
                                GClosureNotify release) {
  GClosure *closure = g_closure_new_simple(sizeof(GClosure), data);
  g_closure_set_marshal(closure, marshal);
  g_closure_add_finalize_notifier(closure, data, release);
  g_signal_connect_closure(object, signal, closure, FALSE);
}

static inline gboolean cgtk_is_boolean(const GValue *value) { return G_VALUE_HOLDS_BOOLEAN(value); }
static inline gboolean cgtk_is_int(const GValue *value) { return G_VALUE_HOLDS_INT(value); }
static inline gboolean cgtk_is_uint(const GValue *value) { return G_VALUE_HOLDS_UINT(value); }
static inline gboolean cgtk_is_flags(const GValue *value) { return G_VALUE_HOLDS_FLAGS(value); }
static inline gboolean cgtk_is_double(const GValue *value) { return G_VALUE_HOLDS_DOUBLE(value); }
