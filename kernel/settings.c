// SPDX-License-Identifier: GPL-2.0-only
/*
 * A socket's private area: how far its goal is, and its settings, completed from its namespace.
 */
#include "dalbe.h"

/**
 * dalbe_claim - make the private area ours
 * @sk: a locked socket of ours
 *
 * Until then it may hold the data of another congestion control, or nothing yet.
 */
struct dalbe_sock *dalbe_claim(struct sock *sk)
{
	struct dalbe_sock *ca = dalbe_sk(sk);

	if (ca->self != ca) {
		memset(ca, 0, sizeof(*ca));
		ca->self = ca;
	}
	return ca;
}

/**
 * dalbe_settings_in_force - the socket's settings, completed from its namespace
 * @sk: a locked socket of ours
 */
struct goal_settings dalbe_settings_in_force(const struct sock *sk)
{
	const struct dalbe_defaults *def = dalbe_net_defaults(sock_net(sk));
	bool weight_only = !dalbe_sk(sk)->goal.bytes && READ_ONCE(def->scavenger);
	struct goal_settings s = dalbe_sk(sk)->goal.settings;
	const struct dalbe_params defaults = {
		.g_ns = READ_ONCE(def->g_us) * NSEC_PER_USEC,
		.controller = weight_only ? DALBE_CONTROLLER_WEIGHT : READ_ONCE(def->controller),
		.tw_ms = READ_ONCE(def->tw_ms),
		.wmin_ppm = READ_ONCE(def->wmin_ppm),
		.after_deadline = READ_ONCE(def->after_deadline),
	};

	goal_take(&s, &defaults, ~s.set);
	return s;
}

/**
 * dalbe_wants_control - is a controller to set w?
 * @ca: the private area
 * @s: the settings in force
 *
 * Only the weight controller can do so without a goal.
 */
bool dalbe_wants_control(const struct dalbe_sock *ca, const struct goal_settings *s)
{
	return s->controller == DALBE_CONTROLLER_WEIGHT ||
	       (ca->goal.bytes && s->controller != DALBE_CONTROLLER_FIXED);
}

/**
 * dalbe_control_config - the controller and its parameters
 * @sk: a locked socket of ours
 * @s: the settings in force
 */
struct control_config dalbe_control_config(const struct sock *sk, const struct goal_settings *s)
{
	struct control_config config;

	goal_configure(&config, s, READ_ONCE(dalbe_net_defaults(sock_net(sk))->limit_increase));
	return config;
}
